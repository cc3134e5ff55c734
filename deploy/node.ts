/** One process of a cluster: `node deploy/node.ts gateway`, `node deploy/node.ts brain`, or several roles in one. */
import { runRoles } from './role.ts';
import { SERVICES } from './services.ts';

await runRoles(process.argv.slice(2), SERVICES);
