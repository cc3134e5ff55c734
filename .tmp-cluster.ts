import { startNats } from '/work/main/shared/testing/src/servers/nats.ts';
import { startRedis } from '/work/main/shared/testing/src/servers/redis.ts';
import { startPostgres } from '/work/main/shared/testing/src/servers/postgres.ts';
import { spawn } from 'node:child_process';
import { writeFileSync, mkdirSync } from 'node:fs';
const [n, r, p] = await Promise.all([startNats(), startRedis(), startPostgres()]);
console.log(n!.url, r!.url, p!.url);
mkdirSync('/tmp/cd', { recursive: true });
const env = { ...process.env, NATS_URL: n!.url, REDIS_URL: r!.url, DATABASE_URL: p!.url, SVC_DATA_DIR: '/tmp/cd', SVC_BIND: '127.0.0.1', SVC_API_KEY: 'k'.repeat(32), SVC_RATE_LIMIT: 'off', SVC_DRAIN_WAIT_MS: '200' };
const run = (name: string, args: string[], extra = {}) => {
  const c = spawn(process.execPath, ['deploy/node.ts', ...args], { cwd: '/work/main', env: { ...env, SVC_NODE_ID: name, ...extra } });
  c.stdout.on('data', (d) => process.stdout.write(`[${name}] ${d}`)); c.stderr.on('data', (d) => process.stdout.write(`[${name}!] ${d}`));
  c.on('exit', (code, sig) => console.log(name, 'exit', code, sig));
  return c;
};
run('brain-1', ['brain']); run('brain-2', ['brain']); run('gw-1', ['gateway'], { SVC_MCP_PORT: '4101' }); run('gw-2', ['gateway'], { SVC_MCP_PORT: '4102' });
process.on('SIGTERM', async () => { process.exit(0); });
