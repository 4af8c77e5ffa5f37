"""The framework's modules, one test file each."""
