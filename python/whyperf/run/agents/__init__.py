"""Agents: the pipes to them, frames, requests and replies, received tables, and signs of life."""
