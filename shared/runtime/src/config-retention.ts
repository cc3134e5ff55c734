/** Variables that say for how long, and how much of it, something is kept. */
import { count } from './config-values.ts';
import { variable } from './config-variable.ts';

export const RETENTION_VARIABLES = {
  SVC_KEEP_EVENTS_DAYS: variable(
    count(1, 36_500).default(7),
    '7',
    'Days for which events can be resumed from and read in the log; at most a million of each service are kept.',
  ),
  SVC_KEEP_LOG_ROWS: variable(
    count(100_000, 1_000_000_000).default(1_000_000),
    '1000000',
    'Events that the log of all services keeps at most.',
  ),
  SVC_KEEP_SESSIONS_DAYS: variable(
    count(1, 36_500).default(30),
    '30',
    'Days after which a session that nobody uses forgets its stack of brains.',
  ),
  SVC_KEEP_TOKENS_DAYS: variable(count(1, 36_500).default(30), '30', 'Days for which tokens that ended are listed.'),
  SVC_KEEP_MESSAGES_DAYS: variable(count(1, 36_500).default(30), '30', 'Days for which broadcasts to agents are kept.'),
  SVC_KEEP_OFFERS_DAYS: variable(
    count(1, 36_500).default(90),
    '90',
    'Days for which closed bids and listings that are sold out are shown in the market; their trades stay.',
  ),
  SVC_KEEP_PAYLOADS_DAYS: variable(
    count(1, 36_500).default(90),
    '90',
    'Days for which what was delivered for a skill is kept after its trade was closed; the trade and the hash stay.',
  ),
  SVC_KEEP_RESTORES_DAYS: variable(
    count(1, 36_500).default(30),
    '30',
    'Days for which it is kept what was written and paid for a world that was resumed.',
  ),
  SVC_KEEP_AUDIT_DAYS: variable(count(0, 36_500).default(400), '400', 'Days the audit is kept; 0 = for good.'),
  SVC_KEEP_AUDIT_ENTRIES: variable(
    count(0, 1_000_000_000).default(10_000_000),
    '10000000',
    'Entries kept of the audit of one workspace; beyond that those older than a week go, the oldest first. 0 = all.',
  ),
  SVC_KEEP_TRACES_DAYS: variable(
    count(1, 36_500).default(90),
    '90',
    'Days for which settled conflicts are listed, and for which a file that is gone keeps the home it had.',
  ),
} as const;
