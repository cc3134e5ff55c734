/** A brain service in a process that can be killed: `<database> <data directory>`, called by messages. */
import { openPostgresDatabase } from '@svc/runtime/database.postgres.ts';
import { platformOn } from '@svc/testing/service-bed.ts';
import type { NodeCall } from './brain-process.ts';
import { createRegistry, startNode } from './brain-test-bed.ts';

const POOL_SIZE = 40;

const [url = '', dataDir = ''] = process.argv.slice(2);
const database = await openPostgresDatabase({ url, log: { warn() {}, fatal() {} }, poolSize: POOL_SIZE });
const platform = platformOn(database, {}, { SVC_DATA_DIR: dataDir });
const registry = createRegistry();
await registry.serveOn(platform);
const node = await startNode(dataDir, platform, registry);

process.on('message', ({ id, tool, args, over }: NodeCall) => {
  const answered = node.call(tool, args, over).catch((error: Error) => ({ code: error.message }));
  void answered.then((answer) => process.send?.({ id, answer }));
});
process.send?.({ isReady: true });
