import { describe, expect, it } from 'vitest';
import {
  freshPointer,
  loadBrains,
  MAX_STACK,
  popBrain,
  pushBrain,
  removeBrain,
  switchBrain,
  switchBranch,
} from './stack.ts';

const names = (pointer: { stack: readonly { brain: string }[] }) => pointer.stack.map(({ brain }) => brain);

function pushed(...brains: string[]) {
  let pointer = freshPointer('svc');
  for (const brain of brains) {
    const next = pushBrain(pointer, { brain });
    if (!next.ok) throw new Error(next.code);
    pointer = next.value;
  }
  return pointer;
}

describe('the stack of a session', () => {
  it('starts with the default brain on main, private', () => {
    expect(freshPointer('svc').stack).toEqual([{ brain: 'svc', branch: 'main', type: 'private' }]);
  });

  it('pushes on top, moves what is there already, and ends at its limit', () => {
    expect(names(pushed('a', 'b', 'a'))).toEqual(['a', 'b', 'svc']);
    const full = pushed(...Array.from({ length: MAX_STACK - 1 }, (_, index) => `b${index}`));
    expect(pushBrain(full, { brain: 'one-more' })).toMatchObject({ ok: false, code: 'E_LIMIT' });
    expect(pushBrain(full, { brain: 'b3' }).ok).toBe(true);
  });

  it('keeps its last entry', () => {
    expect(popBrain(freshPointer('svc'))).toMatchObject({ ok: false, code: 'E_STACK_EMPTY' });
    expect(popBrain(pushed('a'))).toMatchObject({ ok: true, value: { popped: 'a' } });
    expect(removeBrain(freshPointer('svc'), 'svc')).toMatchObject({ ok: false, code: 'E_STACK_EMPTY' });
    expect(removeBrain(pushed('a'), 'other')).toBeNull();
  });

  it('comes back to the branch it last used of a brain', () => {
    const onFeature = switchBranch(pushed('a'), 'a', 'feature');
    const away = switchBrain(onFeature, { brain: 'svc' });
    expect(names(away)).toEqual(['svc']);
    expect(switchBrain(away, { brain: 'a' }).stack[0]).toEqual({ brain: 'a', branch: 'feature', type: 'private' });
  });

  it('loads exactly the brains given, first on top', () => {
    expect(names(loadBrains(pushed('a'), ['x', 'y', 'x'], 'public'))).toEqual(['x', 'y']);
  });
});
