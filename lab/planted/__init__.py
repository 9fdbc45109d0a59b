"""Thirty mistakes as patches, planted one by one to see whether the tests find them."""
