"""Warnings about a result: their texts, and the rules that raise them."""
