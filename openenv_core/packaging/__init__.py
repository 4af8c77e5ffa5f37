"""Environments as projects: read, checked, made from a template, and packed for a Hugging Face Space."""
