//! The time that a CPU is taken away from a program that only spins, and who took it.
