/** What the ledger is to do, said a second time as plainly as possible: one caller at a time, plain numbers of micro-credits. */

interface ReferenceAccount {
  limit: number;
  spent: number;
  earned: number;
  pending: number;
}

interface ReferenceMember {
  limit: number | null;
  spent: number;
  pending: number;
}

interface ReferenceHold {
  id: string;
  account: string | null;
  member: string | null;
  amount: number;
  owner: string;
  service: boolean;
  state: 'held' | 'posted' | 'released' | 'expired';
  expiresAt: number;
  captured: number | null;
  payee: string | null;
  body: string;
}

interface Payment {
  account: string;
  member: string | null;
  payee: string;
  left: number;
}

export type Said = Record<string, unknown>;
const no = (code: string): Said => ({ code });

export interface ReferencePayer {
  readonly account: string;
  readonly member: string | null;
}

interface ReferenceWish {
  readonly payer: ReferencePayer | null;
  readonly amount: number;
  readonly owner: string;
  readonly service: boolean;
  readonly ttlMs: number;
  /** It arrives after its deadline. */
  readonly late: boolean;
}

function bodyOf({ payer, amount, ttlMs }: ReferenceWish): string {
  return JSON.stringify([payer, amount, ttlMs]);
}

export class ReferenceLedger {
  readonly accounts = new Map<string, ReferenceAccount>();
  readonly members = new Map<string, ReferenceMember>();
  /** The newest of each name: a service's is its id, a caller's belongs to the caller. */
  readonly holds = new Map<string, ReferenceHold>();
  readonly payments: Payment[] = [];
  readonly references = new Map<string, { body: string; said: Said }>();
  sinks = 0;
  events = 0;
  /** Milliseconds since the beginning. */
  now = 0;

  setLimit(account: string, limit: number): Said {
    const known = this.accounts.get(account);
    const { spent, pending, earned } = known ?? { spent: 0, pending: 0, earned: 0 };
    if (limit + earned < spent + pending) return no('E_LIMIT_BELOW_COMMITTED');
    if (known?.limit !== limit) this.events += 1;
    if (known === undefined) this.accounts.set(account, { limit, spent: 0, earned: 0, pending: 0 });
    else known.limit = limit;
    return { limit, created: known === undefined };
  }

  setMemberLimit(pool: string, agent: string, limit: number | null): Said {
    const key = `${pool} ${agent}`;
    const known = this.members.get(key);
    if (limit !== null && limit < (known?.spent ?? 0) + (known?.pending ?? 0)) return no('E_LIMIT_BELOW_COMMITTED');
    if (known === undefined || known.limit !== limit) this.events += 1;
    if (known === undefined) this.members.set(key, { limit, spent: 0, pending: 0 });
    else known.limit = limit;
    return { limit };
  }

  open(account: string, limit: number, ref: string): Said {
    return this.#once(`limit ${ref}`, `${account} ${limit}`, () => {
      const known = this.accounts.get(account);
      if (known !== undefined && known.limit !== limit) return no('E_ACCOUNT_EXISTS');
      if (known === undefined) {
        this.accounts.set(account, { limit, spent: 0, earned: 0, pending: 0 });
        this.events += 1;
      }
      return { created: known === undefined };
    });
  }

  debit(payer: ReferencePayer, amount: number, payee: string, ref: string | null): Said {
    const spend = (): Said => {
      const refusal = this.#shortage(payer, amount);
      if (refusal !== null) return no(refusal);
      this.#move(payer, amount, payee);
      this.events += 1;
      return { paid: amount };
    };
    return ref === null
      ? spend()
      : this.#once(`spend ${ref}`, `${payer.account} ${payer.member} ${amount} ${payee}`, spend);
  }

  hold(id: string, wish: ReferenceWish): Said {
    const { owner, late } = wish;
    const earlier = this.#claimed(nameOf(id, wish));
    if (earlier !== undefined) return heldAlready(earlier, owner, bodyOf(wish));
    return late ? no('E_HOLD_EXPIRED') : this.#place(id, wish);
  }

  #place(id: string, wish: ReferenceWish): Said {
    const { payer, amount, owner, service, ttlMs } = wish;
    const reserves = payer !== null && amount > 0;
    const refusal = reserves ? this.#shortage(payer, amount) : null;
    if (refusal !== null) return no(refusal);
    if (reserves) this.#reserve(payer, amount);
    this.holds.set(nameOf(id, wish), {
      id,
      account: payer?.account ?? null,
      member: payer?.member ?? null,
      amount: reserves ? amount : 0,
      owner,
      service,
      state: 'held',
      expiresAt: this.now + ttlMs,
      captured: null,
      payee: null,
      body: bodyOf(wish),
    });
    this.events += 1;
    return { reserved: reserves ? amount : 0 };
  }

  /** A closed hold of a caller leaves its name to the next. */
  #claimed(name: string): ReferenceHold | undefined {
    const hold = this.holds.get(name);
    return hold?.service === true || hold?.state === 'held' ? hold : undefined;
  }

  capture(id: string, wanted: number | null, payee: string, owner: string): Said {
    const hold = this.holds.get(id);
    if (hold === undefined || !hold.service || hold.owner !== owner) return no('E_HOLD_ABSENT');
    const amount = wanted ?? hold.amount;
    if (hold.state !== 'held') return capturedAlready(hold, amount, payee);
    if (amount > hold.amount) return no('E_AMOUNT');
    if (hold.account !== null && hold.amount > 0)
      this.#reserve({ account: hold.account, member: hold.member }, -hold.amount);
    if (hold.account !== null && amount > 0) this.#move({ account: hold.account, member: hold.member }, amount, payee);
    Object.assign(hold, { state: 'posted', captured: amount, payee });
    this.events += 1;
    return { captured: amount };
  }

  void(id: string, owner: string): Said {
    const hold = this.holds.get(id);
    if (hold === undefined) {
      const nothing = { account: null, member: null, amount: 0, captured: null, payee: null, body: '' };
      this.holds.set(id, { ...nothing, id, owner, service: true, state: 'released', expiresAt: this.now });
      return { voided: true };
    }
    if (hold.owner !== owner || hold.state === 'posted') return no('E_HOLD_CLOSED');
    if (hold.state === 'expired') return { voided: true, expired: true };
    if (hold.state === 'released') return { voided: true, replay: true };
    this.#release(hold, 'released');
    return { voided: true };
  }

  /** `owner` null = the only one that anybody has under the id. */
  release(id: string, owner: string | null): Said {
    const live = this.live(id);
    const [name, another] = owner === null ? live : live.filter((one) => one === callersName(owner, id));
    const hold = name === undefined ? undefined : this.holds.get(name);
    if (another !== undefined) return no('E_AMBIGUOUS');
    if (hold === undefined) return { released: false };
    this.#release(hold, 'released');
    return { released: true };
  }

  /** Names of the live holds that callers have under the id. */
  live(id: string): readonly string[] {
    const live = [...this.holds].filter(([, hold]) => !hold.service && hold.id === id && hold.state === 'held');
    return live.filter(([, { expiresAt }]) => expiresAt > this.now).map(([name]) => name);
  }

  refund(index: number, wanted: number | null, ref: string): Said {
    return this.#once(`refund ${ref}`, `${index} ${wanted}`, () => {
      const paid = this.payments[index];
      if (paid === undefined) return no('E_ENTRY_ABSENT');
      const amount = wanted ?? paid.left;
      if (paid.left === 0 || amount > paid.left) return no('E_REFUNDED');
      const payee = this.accounts.get(paid.payee);
      const payer = this.#account(paid.account);
      if (payee !== undefined && this.#left(payee) + (payee === payer ? amount : 0) < amount) return no('E_BUDGET');
      payer.spent -= amount;
      const member = paid.member === null ? undefined : this.members.get(`${paid.account} ${paid.member}`);
      if (member !== undefined) member.spent -= amount;
      if (payee === undefined) this.sinks -= amount;
      else payee.earned -= amount;
      paid.left -= amount;
      this.events += 1;
      return { refunded: amount };
    });
  }

  /** Time goes by; what is past its time is over, whoever looks first. */
  pass(ms: number): void {
    this.now += ms;
  }

  /** A record reserves nothing, so it may wait beside an account that has nothing reserved. */
  looksForHolds(accounts: readonly string[]): boolean {
    const known = accounts.flatMap((name) => this.accounts.get(name) ?? []);
    return known.length === 0 || known.some(({ pending }) => pending > 0);
  }

  /** What the store does to an account that it touches. */
  expireOn(accounts: readonly string[], holds: readonly string[]): void {
    const touched = new Set(accounts);
    for (const name of holds) {
      const hold = this.holds.get(name);
      if (hold !== undefined && hold.account !== null && (hold.service || hold.state === 'held'))
        touched.add(hold.account);
    }
    for (const [name, hold] of this.holds) {
      const isTouched = holds.includes(name) || (hold.account !== null && touched.has(hold.account));
      if (isTouched && hold.state === 'held' && hold.expiresAt <= this.now) this.#release(hold, 'expired');
    }
  }

  #release(hold: ReferenceHold, state: 'released' | 'expired'): void {
    if (hold.account !== null && hold.amount > 0)
      this.#reserve({ account: hold.account, member: hold.member }, -hold.amount);
    hold.state = state;
    this.events += 1;
  }

  #account(name: string): ReferenceAccount {
    const account = this.accounts.get(name);
    if (account === undefined) throw new Error(`the reference has no ${name}`);
    return account;
  }

  #left({ limit, earned, spent, pending }: ReferenceAccount): number {
    return limit + earned - spent - pending;
  }

  #shortage({ account, member }: ReferencePayer, amount: number): string | null {
    const known = this.accounts.get(account);
    if (member === null) return known !== undefined && this.#left(known) >= amount ? null : 'E_BUDGET';
    const pool = known ?? { limit: 0, spent: 0, earned: 0, pending: 0 };
    const own = this.members.get(`${account} ${member}`) ?? { limit: null, spent: 0, pending: 0 };
    const memberFits = (own.limit ?? pool.limit) - own.spent - own.pending >= amount;
    if (own.limit !== null && !memberFits) return 'E_MEMBER_LIMIT';
    if (this.#left(pool) < amount) return 'E_POOL_EXCEEDED';
    return memberFits ? null : 'E_MEMBER_LIMIT';
  }

  #member(account: string, agent: string): ReferenceMember {
    const key = `${account} ${agent}`;
    const member = this.members.get(key) ?? { limit: null, spent: 0, pending: 0 };
    this.members.set(key, member);
    return member;
  }

  #reserve({ account, member }: ReferencePayer, amount: number): void {
    this.#account(account).pending += amount;
    if (member !== null) this.#member(account, member).pending += amount;
  }

  #move({ account, member }: ReferencePayer, amount: number, payee: string): void {
    this.#account(account).spent += amount;
    if (member !== null) this.#member(account, member).spent += amount;
    if (payee.startsWith('sink:')) this.sinks += amount;
    else {
      const known = this.accounts.get(payee) ?? { limit: 0, spent: 0, earned: 0, pending: 0 };
      known.earned += amount;
      this.accounts.set(payee, known);
    }
    this.payments.push({ account, member, payee, left: amount });
  }

  #once(key: string, body: string, work: () => Said): Said {
    const used = this.references.get(key);
    if (used !== undefined) return used.body === body ? { ...used.said, replay: true } : no('E_REF_REUSED');
    const said = work();
    if (!('code' in said)) this.references.set(key, { body, said });
    return said;
  }
}

function nameOf(id: string, { service, owner }: Pick<ReferenceHold, 'service' | 'owner'>): string {
  return service ? id : callersName(owner, id);
}

export function callersName(owner: string, id: string): string {
  return `${owner}/${id}`;
}

function heldAlready(earlier: ReferenceHold, owner: string, body: string): Said {
  if (earlier.state !== 'held') return no('E_HOLD_CLOSED');
  const isSame = earlier.service && earlier.owner === owner && earlier.body === body;
  return isSame ? { reserved: earlier.amount, replay: true } : no('E_HOLD_EXISTS');
}

function capturedAlready(hold: ReferenceHold, amount: number, payee: string): Said {
  if (hold.state === 'expired') return no('E_HOLD_EXPIRED');
  const isSame = hold.state === 'posted' && hold.captured === amount && hold.payee === payee;
  return isSame ? { captured: amount, replay: true } : no('E_HOLD_CLOSED');
}
