/** Everything in one process, with nothing else installed. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@svc/testing/servers/ports.ts';
import { ServiceProcess } from './service-process.ts';
import type { Environment, OwnTarget } from './target.ts';

export const QUIET: Environment = { SVC_BIND: '127.0.0.1', SVC_RATE_LIMIT: 'off', SVC_DRAIN_WAIT_MS: '300' };

export async function startEmbedded(environment: Environment = {}): Promise<OwnTarget> {
  const root = mkdtempSync(join(tmpdir(), 'svc-e2e-embedded-'));
  const dataDir = environment['SVC_DATA_DIR'] ?? join(root, 'data');
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const settings = (given: Environment): Environment => ({
    ...QUIET,
    SVC_NODE_ID: 'embedded',
    ...given,
    SVC_DATA_DIR: dataDir,
    SVC_MCP_PORT: String(port),
  });
  const command = ['deploy/embedded.ts'] as const;
  const node = new ServiceProcess({ name: 'embedded', command, environment: settings(environment), root, url });
  try {
    await node.start();
  } catch (error) {
    await node.kill();
    throw error;
  }
  const targetWith = (given: Environment): OwnTarget => ({
    place: { kind: 'embedded', gateways: [url], key: given['SVC_API_KEY'] ?? null, root, dataDir, servers: null },
    gateways: [node],
    brains: [node],
    habitats: [node],
    escrows: [node],
    servers: null,
    async revive(now) {
      await node.revive(settings(now));
      return targetWith(now);
    },
    async stop() {
      await node.dispose();
      rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  });
  return targetWith(environment);
}
