"""The Llama family, with Hugging Face's names of its weights."""
