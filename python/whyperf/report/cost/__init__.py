"""The section of the report on cost: bars of classes, tables of functions, and flame graphs."""
