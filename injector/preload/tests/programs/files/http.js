// A server of HTTP and its client: so many requests over one connection, one after the other.
const http = require("http");

const requests = Number(process.argv[2]);
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
let came = 0;

const server = http.createServer((request, response) => response.end(request.url.slice(1)));

function ask(index) {
  if (index === requests) {
    console.log(came);
    agent.destroy();
    server.close();
    return;
  }
  http.get({ port: server.address().port, host: "127.0.0.1", path: `/${index}`, agent }, (response) => {
    let body = "";
    response.on("data", (data) => (body += data));
    response.on("end", () => {
      came += Number(body);
      ask(index + 1);
    });
  });
}

server.listen(0, "127.0.0.1", () => ask(0));
