/** One process of a cluster: `node deploy/node.ts gateway`, `node deploy/node.ts brain`, …. */
import { runRole } from './role.ts';
import { SERVICES } from './services.ts';

await runRole(process.argv[2] ?? '', SERVICES);
