"""What a server shows to callers that it does not trust, and to the people who run it."""
