/** Who may have chosen what a call does with the rights of whoever makes it. */
const OPERATOR = 'operator';

/** Whoever registered it may change it at any time: with somebody else's rights that does no more than read. */
export function mayChooseFor(caller: string, owner: string): boolean {
  return owner === caller || owner === OPERATOR;
}
