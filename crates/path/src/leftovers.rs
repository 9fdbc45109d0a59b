//! What a killed run can leave.
