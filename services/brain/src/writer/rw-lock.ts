/** Many writers or one lease change at a time; a waiting lease change goes before the writers that come after it. */

export interface RwLock {
  shared<Value>(work: () => Promise<Value>): Promise<Value>;
  exclusive<Value>(work: () => Promise<Value>): Promise<Value>;
}

interface Waiter {
  readonly exclusive: boolean;
  readonly enter: () => void;
}

export function createRwLock(): RwLock {
  const waiting: Waiter[] = [];
  let sharers = 0;
  let taken = false;

  function admit(): void {
    for (;;) {
      const index = waiting.findIndex(({ exclusive }) => exclusive);
      const next = waiting[index === -1 ? 0 : index];
      if (next === undefined || taken || (next.exclusive && sharers > 0)) return;
      waiting.splice(index === -1 ? 0 : index, 1);
      if (next.exclusive) taken = true;
      else sharers += 1;
      next.enter();
    }
  }

  function enter(exclusive: boolean): Promise<void> {
    return new Promise((resolve) => {
      waiting.push({ exclusive, enter: resolve });
      admit();
    });
  }

  return {
    async shared(work) {
      await enter(false);
      try {
        return await work();
      } finally {
        sharers -= 1;
        admit();
      }
    },
    async exclusive(work) {
      await enter(true);
      try {
        return await work();
      } finally {
        taken = false;
        admit();
      }
    },
  };
}
