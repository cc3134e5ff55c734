/** As deploy/embedded.ts and deploy/node.ts, with other services: the registry, the smallest service and one that asks it. */
import { runOneProcess } from '../../deploy/one-process.ts';
import { runRoles } from '../../deploy/role.ts';
import { service, SERVICES } from '../../deploy/services.ts';

const services = [
  ...SERVICES.filter(({ name }) => name === 'habitat'),
  service({ name: 'eighth', load: async () => (await import('@svc/testing/eighth/service.ts')).eighthService }),
  service({ name: 'neighbour', load: async () => (await import('@svc/testing/eighth/neighbour.ts')).neighbourService }),
];

const roles = process.argv.slice(2);
await (roles.length === 0 ? runOneProcess(services) : runRoles(roles, services));
