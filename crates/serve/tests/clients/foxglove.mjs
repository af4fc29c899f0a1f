// Reads with Foxglove's own client: node foxglove.mjs ADDRESS COUNT, where its modules are. Subscribes to all
// topics, and prints a line of JSON for each message until COUNT of the topic "level" have come.
import { createRequire } from "node:module";

const require = createRequire(process.cwd() + "/");
const { FoxgloveClient } = require("@foxglove/ws-protocol");
const WebSocket = require("ws");

const [address, count] = process.argv.slice(2);
const protocols = [FoxgloveClient.SUPPORTED_SUBPROTOCOL];
const client = new FoxgloveClient({ ws: new WebSocket(`ws://${address}/`, protocols) });
const topics = new Map();
let left = Number(count);

const say = (what) => console.log(JSON.stringify(what));
client.on("serverInfo", (info) => say({ info: info.name, capabilities: info.capabilities }));
client.on("error", (error) => say({ error: String(error) }));
client.on("status", (status) => say({ status: status.message }));
client.on("advertise", (channels) => {
  for (const { id, topic, encoding, schema, schemaEncoding } of channels) {
    say({ topic, encoding, schema, schemaEncoding });
    topics.set(client.subscribe(id), { topic, encoding });
  }
});
client.on("message", ({ subscriptionId, timestamp, data }) => {
  const { topic, encoding } = topics.get(subscriptionId);
  const text = new TextDecoder().decode(data);
  const value = encoding === "json" ? JSON.parse(text) : [...new Uint8Array(data.buffer, data.byteOffset, data.byteLength)];
  say({ topic, time: String(timestamp), value });
  if (topic === "level" && --left === 0) {
    client.close();
    process.exit(0);
  }
});
