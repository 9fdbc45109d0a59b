// A program that computes for ROUNDS rounds, the same each time, and does nothing else. It needs no header, no map and no
// helper, so its instructions are loaded as they are in the object file.

__attribute__((section("program"), used)) int busy(void *context)
{
    unsigned long value = 1;

    (void)context;
    for (unsigned round = 0; round < ROUNDS; round++) {
        value = value * 6364136223846793005UL + 1442695040888963407UL;
        // Otherwise the compiler would compute the result.
        asm volatile("" : "+r"(value));
    }
    return 0;
}
