/** Tasks of a test, with people around them. */
import type { HabitatNode } from './habitat-test-bed.ts';
import { enrol, type Person } from './test-people.ts';

export interface Cast {
  readonly owner: Person;
  readonly admin: Person;
  readonly other: Person;
  readonly stranger: Person;
  readonly taskId: string;
}

type Fields = Record<string, unknown>;

interface SudoBed {
  /** A workspace with an editor who owns a task, an admin, another member, and somebody from elsewhere. */
  cast(scopes?: string[]): Promise<Cast>;
  can(who: Person, taskId: string, scope: string): Promise<Fields>;
  sql(text: string, ...values: unknown[]): Promise<number>;
  /** Makes the time of rows be over. */
  expire(table: string, column: string, value: string): Promise<number>;
  events(principal: string): Promise<{ name: string; workspace: string | null; payload: { parties?: string[] } }[]>;
}

let named = 0;

export function freshId(prefix = 's'): string {
  named += 1;
  return `${prefix}${named}`;
}

export function sudoBed(node: HabitatNode): SudoBed {
  const sql: SudoBed['sql'] = (text, ...values) => node.deps.store.client.$executeRawUnsafe(text, ...values);
  return {
    sql,
    async cast(scopes = []) {
      const workspace = freshId('ws-');
      const owner = await enrol(node, freshId(), { workspace });
      const admin = await enrol(node, freshId(), { workspace, role: 'admin' });
      const other = await enrol(node, freshId(), { workspace });
      const stranger = await enrol(node, freshId(), { workspace: `${workspace}-far`, role: 'admin' });
      const taskId = String((await owner.call('svc_sudo_createTask', { scopes })).taskId);
      return { owner, admin, other, stranger, taskId };
    },
    can: (who, taskId, scope) => who.call('svc_sudo_can', { taskId, scope }),
    expire: (table, column, value) =>
      sql(`UPDATE habitat.${table} SET expires_at = clock_timestamp() - interval '1 ms' WHERE ${column} = $1`, value),
    events: (principal) =>
      node.rows(
        `SELECT name, workspace, payload FROM habitat.outbox WHERE payload->>'principal' = $1 ORDER BY written, line`,
        principal,
      ),
  };
}
