import { spawn, execSync } from 'node:child_process';
import { readFileSync, mkdtempSync } from 'node:fs';
import { Pool } from 'undici';
const variants: [string, string[], Record<string,string>][] = [
  ['semi64', ['--max-semi-space-size=64'], {}],
  ['semi16+malloc', ['--max-semi-space-size=16'], { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '131072' }],
  ['semi32+malloc', ['--max-semi-space-size=32'], { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '131072' }],
  ['semi16', ['--max-semi-space-size=16'], {}],
];
let port = 39600;
const nodes = await Promise.all(variants.map(async ([name, opts, env]) => {
  const p = port++; const d = mkdtempSync('/tmp/ab-');
  const child = spawn('node', ['--disable-warning=ExperimentalWarning', ...opts, 'deploy/embedded.ts'], { env: { ...process.env, ...env, SVC_DATA_DIR: d, SVC_PORT: String(p) , SVC_RATE_LIMIT: 'off'}, stdio: 'ignore' });
  for (;;) { try { if ((await fetch(`http://127.0.0.1:${p}/ready`)).ok) break; } catch {} await new Promise(r => setTimeout(r, 100)); }
  return { name, child, pool: new Pool(`http://127.0.0.1:${p}`, { connections: 16 }), read: [] as number[], write: [] as number[] };
}));
const cpu = (pid: number) => { const f = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' '); return (Number(f[11]) + Number(f[12])) * 10; };
const body = (name: string, args: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } });
async function burst(n: (typeof nodes)[number], count: number, make: (i: number) => string) {
  const a = cpu(n.child.pid!); let i = 0; let bad = 0;
  await Promise.all(Array.from({ length: 32 }, async () => { while (i < count) { const r = await n.pool.request({ path: '/call', method: 'POST', headers: { 'content-type': 'application/json' }, body: make(i++) }); const t = await r.body.text(); if (r.statusCode !== 200) { bad++; } } }));
  if (bad) console.log(n.name, 'bad', bad);
  return (cpu(n.child.pid!) - a) / count * 1000;
}
for (const n of nodes) { await burst(n, 300, (i) => body('svc_set_memory', { category: 'c', filename: `f${i % 50}`, content: 'text ' + i })); await burst(n, 5000, () => body('svc_get_memory', { category: 'c', filename: 'f1' })); }
for (let round = 0; round < 8; round++) for (const n of nodes) {
  n.read.push(await burst(n, 6000, (i) => body('svc_get_memory', { category: 'c', filename: `f${i % 50}` })));
  n.write.push(await burst(n, 400, (i) => body('svc_set_memory', { category: 'c', filename: `f${i % 50}`, content: 'text ' + i + round })));
}
const med = (a: number[]) => a.toSorted((x, y) => x - y)[a.length >> 1]!.toFixed(0);
for (const n of nodes) { const rss = readFileSync(`/proc/${n.child.pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)![1]; console.log(n.name.padEnd(16), 'read µs', med(n.read), 'write µs', med(n.write), 'rss', (Number(rss) / 1024) | 0); n.child.kill(); }
process.exit();
