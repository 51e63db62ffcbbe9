# Whoever comes to a terminal, or by ssh, sees how the boot went.
jitterlab boot report
