// Sessions in a map, which V8 keeps outside malloc, and buffers, most of which are dropped.
"use strict";

const sessions = new Map();
for (let i = 0; i < 300_000; ++i) sessions.set("session-" + i, {i, text: "v".repeat(i % 50)});
let buffers = [];
for (let i = 0; i < 2000; ++i) buffers.push(Buffer.alloc(4096 + i));
buffers = buffers.filter((_, i) => i % 7 === 0);
console.log(sessions.size, buffers.length);
