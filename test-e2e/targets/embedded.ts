/** Everything in one process, with nothing else installed. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { layTables } from '@svc/testing/database.ts';
import { freePort } from '@svc/testing/servers/ports.ts';
import { SOON_ENDED } from '@svc/testing/soon-ended.ts';
import { DATABASE } from '../../deploy/data-directory.ts';
import { ROLES } from '../../deploy/services.ts';
import { ServiceProcess } from './service-process.ts';
import { type Environment, type OwnTarget, ownTargetOf } from './target.ts';

/** All clients of a run come from one address. */
export const QUIET: Environment = {
  SVC_BIND: '127.0.0.1',
  SVC_RATE_LIMIT: 'off',
  SVC_MAX_CONNECTIONS_PER_ADDRESS: '5000',
  SVC_DRAIN_WAIT_MS: '300',
};

/** In a directory of its own its database has its tables already; one that is given is left as it is. */
export async function startEmbedded(
  environment: Environment = {},
  nodeOptions: readonly string[] = SOON_ENDED,
): Promise<OwnTarget> {
  const root = mkdtempSync(join(tmpdir(), 'svc-e2e-embedded-'));
  const given = environment['SVC_DATA_DIR'];
  const dataDir = given ?? join(root, 'data');
  if (given === undefined) await layTables(join(dataDir, DATABASE));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const settings = (wished: Environment): Environment => ({
    ...QUIET,
    SVC_NODE_ID: 'embedded',
    ...wished,
    SVC_DATA_DIR: dataDir,
    SVC_MCP_PORT: String(port),
  });
  const command = ['deploy/embedded.ts'] as const;
  const node = new ServiceProcess({
    name: 'embedded',
    command,
    nodeOptions,
    environment: settings(environment),
    root,
    url,
  });
  try {
    await node.start();
  } catch (error) {
    await node.kill();
    throw error;
  }
  const targetWith = (wished: Environment): OwnTarget => {
    const rest = {
      place: { kind: 'embedded', gateways: [url], key: wished['SVC_API_KEY'] ?? null, root, dataDir, servers: null },
      servers: null,
      async revive(now: Environment) {
        await node.revive(settings(now));
        return targetWith(now);
      },
      whole: () => node.ready(),
      async stop() {
        await node.dispose();
        rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
      },
    } as const;
    return ownTargetOf([{ roles: ROLES, processes: [node] }], rest, { isWhole: true });
  };
  return targetWith(environment);
}
