"""The fifteen words of ListOps in a fixed order, so that ids are the same in every run."""

__all__ = ["CLOSE", "DIGIT", "MAX", "MED", "MIN", "SUM", "WORDS"]

WORDS = ("[MIN", "[MAX", "[MED", "[SM", "X", *"0123456789")  # ids 1 to 15; 0 is padding
MIN, MAX, MED, SUM, CLOSE, DIGIT = range(1, 7)  # DIGIT is the id of the word 0
