"""One training job of SageMaker, started again and again by a state machine."""
