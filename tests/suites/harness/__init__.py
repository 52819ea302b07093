"""What tests/suites/run.py is made of: one module per step, none of which prints."""
