"""The laboratory: what grades and proves the product; it is not in the wheel."""
