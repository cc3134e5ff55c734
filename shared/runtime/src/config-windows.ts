/** Variables that say for how long is counted. */
import { count } from './config-values.ts';
import { alike, variable } from './config-variable.ts';

const seconds = () => count(1, 3600).default(60);

export const WINDOW_VARIABLES = {
  SVC_RATE_WINDOW_S: alike(
    'gateway',
    variable(
      seconds(),
      '60',
      'Seconds for which the requests of a plan and wrong credentials are counted; all gateways need the same.',
    ),
  ),
  SVC_DENIALS_WINDOW_S: variable(
    seconds(),
    '60',
    'Seconds for which a gateway counts equal denied calls before it writes their number to the audit.',
  ),
  SVC_BREAKER_OPEN_S: alike(
    'escrow',
    variable(
      seconds(),
      '60',
      'Seconds for which the breaker of a key stays open that qos_recordFailure opened; every ledger process needs the same.',
    ),
  ),
} as const;
