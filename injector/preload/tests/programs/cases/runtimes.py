"""Runtimes with event loops of their own."""

from lab import FILES, case

MESSAGES = 200


@case("nodejs", needs={"node": "nodejs"}, sends=2 * MESSAGES)
def nodejs(lab):
    return lab.run("node", FILES / "http.js", MESSAGES)


# Two messages there and back, and one more that ends the server.
@case("java-nio", needs={"java": "openjdk-17-jdk-headless", "javac": "openjdk-17-jdk-headless"}, sends=4 * MESSAGES + 2)
def java_nio(lab):
    classes = lab.once("classes", lambda path: lab.run("javac", "-d", path, FILES / "Nio.java", alone=True))
    return lab.run("java", "-Xmx64m", "-cp", classes, "Nio", MESSAGES)


@case("asyncio", needs={"python3": "python3"}, sends=4 * MESSAGES)
def asyncio(lab):
    return lab.run("python3", FILES / "echo.py", MESSAGES)
