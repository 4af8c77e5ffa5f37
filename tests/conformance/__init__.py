"""The conformance checks: on good environments and on broken ones, behind a URL, at the command line, under pytest."""
