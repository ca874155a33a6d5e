// Usage: buffers.js three|ten|fill|version PATH plain|stream: small writes.
const fs = require('fs');

const [program, path, api] = process.argv.slice(2);

function records() {
  if (program === 'three') return ['one', 'two', 'three'];
  if (program === 'ten') return Array(10).fill('x'.repeat(1024));
  return Array(300000).fill('x');
}

if (program === 'version') {
  console.log(process.version);
} else if (api === 'stream') {
  const stream = fs.createWriteStream(path);
  for (const record of records()) stream.write(record);
  stream.end();
} else {
  const file = fs.openSync(path, 'w');
  for (const record of records()) fs.writeSync(file, record);
  fs.closeSync(file);
}
