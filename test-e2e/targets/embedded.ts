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
  const node = new ServiceProcess({
    name: 'embedded',
    command: ['deploy/embedded.ts'],
    environment: {
      ...QUIET,
      SVC_NODE_ID: 'embedded',
      ...environment,
      SVC_DATA_DIR: dataDir,
      SVC_MCP_PORT: String(port),
    },
    root,
    url,
  });
  try {
    await node.start();
  } catch (error) {
    await node.kill();
    throw error;
  }
  return {
    place: { kind: 'embedded', gateways: [url], key: environment['SVC_API_KEY'] ?? null, root, dataDir, servers: null },
    gateways: [node],
    brains: [node],
    habitats: [node],
    escrows: [node],
    servers: null,
    async stop() {
      await node.dispose();
      rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
}
