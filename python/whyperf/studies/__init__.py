"""The catalog of all tables, figures and claims of the five studies, and how today's results compare with them."""
