/** What a page of a list costs follows the page, not how much there is. */
import { filledDatabase, rowsLookedAt } from '@svc/testing/rows-looked-at.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { expect, test } from 'vitest';
import { readAgents } from './agent-rows.ts';
import { listEntries } from './audit-list.ts';
import { listDecisions } from './governance-rows.ts';
import { listPolicies, listTokens, listWorkspaces } from './listings.ts';
import { listTasks } from './sudo-views.ts';
import { listVisible } from './team-rows.ts';
import { readLeaderboard } from './trust-rows.ts';

const MANY = 10_000;
const LIMIT = 10;
/** Some rows lead to another one each. */
const FEW = 10 * LIMIT;

const FILL = [
  `habitat.workspaces (workspace_id, folded, name, created_at, created_by) SELECT 'w' || n, 'w' || n, 'w', now(), 'operator'`,
  `habitat.agents (agent_id, name, workspace, created_by, created_at, killed_at)
     SELECT 'agt_' || to_char(n, 'FM00000'), 'x', 'w' || n, 'operator', now(), CASE WHEN n <= ${MANY / 2} THEN now() END`,
  `habitat.agent_tasks (task_id, agent_id, task, status, "by", at)
     SELECT 'tsk_' || n, 'agt_' || to_char(n, 'FM00000'), 'x', 'queued', 'operator', now()`,
  `habitat.roles (workspace_id, user_id, role, granted_by, granted_at)
     SELECT 'w' || n, 'agt_' || to_char(n, 'FM00000'), 'editor', 'operator', now()`,
  `habitat.policies (resource, readable_by, writable_by, container, filter, mask, version, updated_at, updated_by)
     SELECT 'brain/' || n, '{}', '{}', 'w' || n, '[]', '[]', 1, now(), 'operator'`,
  `habitat.tokens (hash, token_id, kind, agent_id, minted_by, minted_at, expires_at)
     SELECT 'h' || n, 'tok_' || to_char(n, 'FM00000'), 'habitat', 'agt_' || to_char(n, 'FM00000'), 'operator', now(), now()`,
  `habitat.orgs (id, name, folded, plan, "desc", created_at) SELECT 'org_' || to_char(n, 'FM00000'), 'x', 'o' || n, 'free', '', now()`,
  `habitat.governance_decisions (id, topic, context, checks, allowed, reasons, standing, "by", workspace, at)
     SELECT 'gov_' || n, 't', '{}', '{}', true, '{}', true, 'operator', 'w1', now() + n * interval '1 s'`,
  `habitat.audit_entries (chain, seq, id, at, event, kind, subject, data, prev_hash, hash)
     SELECT 'w1', n, 'aud_' || n, now() + n * interval '1 s', 'x', 'system', '{}', '{}', '', ''`,
  `habitat.sudo_tasks (task_id, owner, workspace, created_at, expires_at)
     SELECT 'tsk_' || n, 'agt_' || to_char(n, 'FM00000'), 'w' || n, now(), now() + interval '1 day'`,
  `habitat.trust (entity_id, score, karma, last_at) SELECT 'agt_' || to_char(n, 'FM00000'), 500000 + n, 0, now()`,
];

const client = await filledDatabase(FILL.map((rows) => `INSERT INTO ${rows} FROM generate_series(1, ${MANY}) n`));

const start = { limit: LIMIT, after: null };
const everything = { everything: true, identity: null, bound: null, workspace: null };
const member = { identity: `agt_${MANY}`, operator: false, token: null, name: 'x' };
const LAST = `agt_${MANY}`;
type Page = (client: SqlClient) => Promise<readonly unknown[] | null>;

const PAGES: Readonly<Record<string, readonly [shown: number, page: Page]>> = {
  workspaces: [LIMIT + 1, (tx) => listWorkspaces(tx, null, { limit: LIMIT, after: 'w15' })],
  boundaries: [LIMIT + 1, (tx) => listPolicies(tx, null, { limit: LIMIT, after: 'brain/15' })],
  tokens: [
    LIMIT + 1,
    (tx) => listTokens(tx, { all: true, self: null, selfIn: null, administered: [], agentId: null }, start),
  ],
  agents: [LIMIT + 1, (tx) => readAgents(tx, { ...everything, ...start })],
  'agents of a member': [1, (tx) => readAgents(tx, { ...everything, everything: false, identity: LAST, ...start })],
  organisations: [LIMIT + 1, (tx) => listVisible(tx, { everything: true, identity: null }, 'orgs', start)],
  decisions: [LIMIT + 1, (tx) => listDecisions(tx, null, start)],
  audit: [
    LIMIT + 1,
    (tx) =>
      listEntries(tx, { workspace: null, actor: null, event: null, kind: null }, { limit: LIMIT, after: 'aud_1000' }),
  ],
  'audit of a workspace': [
    LIMIT + 1,
    (tx) => listEntries(tx, { workspace: 'w1', actor: null, event: null, kind: null }, start),
  ],
  'tasks of a member': [1, (tx) => listTasks(tx, member, null, LIMIT)],
  'ranks a member sees': [
    1,
    (tx) => readLeaderboard(tx, { everyone: false, identity: LAST, bound: null, limit: LIMIT }),
  ],
};

test.each(Object.entries(PAGES))(
  'a page of %s is read from where it begins to where it ends',
  async (_name, [shown, page]) => {
    let rows: readonly unknown[] | null = null;
    const looked = await rowsLookedAt(client, async (tx) => {
      rows = await page(tx);
    });
    expect(rows).toHaveLength(shown);
    expect(looked).toBeLessThanOrEqual(FEW);
  },
);

test('who is in quarantine is asked of those who rank before the end of the list', async () => {
  const looked = await rowsLookedAt(client, (tx) =>
    readLeaderboard(tx, { everyone: true, identity: null, bound: null, limit: LIMIT }),
  );
  expect(looked).toBeLessThanOrEqual(2 * MANY + FEW);
});
