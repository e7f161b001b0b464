"""The verbs of `llm-fleet`: their arguments, and what each calls; imports of that stand inside functions."""
