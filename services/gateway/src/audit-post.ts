/** Audit entries on their way to the audit's chains: sent again under the same ids until they are taken. */
import { setTimeout as sleep } from 'node:timers/promises';
import { MAX_AUDIT_POST, type PostedAuditEntry } from '@svc/contract/audit.ts';
import { HABITAT } from '@svc/contract/operations.habitat.ts';
import type { AuditEntry } from '@svc/runtime/audit.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';
import { createOperationClient } from '@svc/runtime/operations.ts';
import { shareRun } from '@svc/runtime/turns.ts';

export interface AuditPost {
  send(entry: AuditEntry): void;
  /** Resolves when everything is taken, or when nobody takes it now. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

type AuditPostPlatform = Pick<StatelessPlatform, 'bus' | 'clock' | 'ids' | 'log'>;

const RETRY_MS = 2000;
/** More are not kept while nobody takes them; the log has them too. */
const MAX_WAITING = 10_000;

export function createAuditPost(platform: AuditPostPlatform): AuditPost {
  const { clock, ids, log } = platform;
  const queue = createQueue(platform);
  let untilTaken: Promise<void> | null = null;
  let isClosed = false;

  async function sendUntilTaken(): Promise<void> {
    while (!isClosed && !(await queue.send())) await sleep(RETRY_MS, undefined, { ref: false });
  }

  function begin(): void {
    untilTaken ??= sendUntilTaken().finally(() => {
      untilTaken = null;
      if (queue.size() > 0 && !isClosed) begin();
    });
  }

  return {
    send(entry) {
      if (queue.size() >= MAX_WAITING) {
        log.error('an audit entry is lost: too many wait');
        return;
      }
      queue.add({ id: ids.next('aud'), at: clock.now(), ...entry });
      begin();
    },
    async flush() {
      await queue.send();
    },
    async close() {
      isClosed = true;
      await queue.send();
    },
  };
}

interface Queue {
  size(): number;
  add(entry: PostedAuditEntry): void;
  /** Sends all that waits; false = nobody took it. Callers at the same time share one attempt. */
  send(): Promise<boolean>;
}

function createQueue(platform: AuditPostPlatform): Queue {
  const habitat = createOperationClient(platform, HABITAT, 'gateway');
  let waiting: PostedAuditEntry[] = [];

  async function sendAll(): Promise<boolean> {
    while (waiting.length > 0) {
      const entries = waiting.slice(0, MAX_AUDIT_POST);
      try {
        await habitat.audit({ entries });
      } catch (error) {
        platform.log.debug({ err: error }, 'audit entries wait');
        return false;
      }
      waiting = waiting.slice(entries.length);
    }
    return true;
  }

  return {
    size: () => waiting.length,
    add: (entry) => void waiting.push(entry),
    send: shareRun(sendAll),
  };
}
