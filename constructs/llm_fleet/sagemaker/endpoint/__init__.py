"""An endpoint of SageMaker that serves a model of Hugging Face, and what goes on around it."""
