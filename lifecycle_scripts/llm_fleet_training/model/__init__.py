"""The Llama family, with the names that Hugging Face gives its weights."""
