/**
 * Loads the code of every role and ends: processes that start later with the same NODE_COMPILE_CACHE find it compiled, its
 * types already stripped. Run while an image is built, as the user that will run the service, because caches are per user.
 */
import { SERVICES } from './services.ts';

await Promise.all([
  import('./role.ts'),
  import('./stores.cluster.ts'),
  import('./one-process.ts'),
  import('./whole-node.ts'),
  import('@svc/gateway/service.ts'),
  ...SERVICES.map(({ load }) => load()),
]);
