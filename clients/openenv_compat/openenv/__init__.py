"""Import paths of the public package, provided by OpenEnv Core."""
