/** The tools of all services, as they are declared. */
import { SERVICES } from '../deploy/services.ts';
import { gatewayTools } from '../services/gateway/src/service.ts';
import type { ServiceTools } from './docs-tools.ts';

export async function declaredTools(): Promise<ServiceTools[]> {
  const behind = SERVICES.map(async ({ name, tools }) => ({ service: name, tools: await tools() }));
  const all = [{ service: 'gateway', tools: gatewayTools }, ...(await Promise.all(behind))];
  return all.sort((a, b) => (a.service < b.service ? -1 : 1));
}
