-- The ids of callers are each caller's own: their live holds are found by both.
CREATE INDEX "holds_live_id" ON "escrow"."holds" ("hold_id", "owner") WHERE "state" = 'held';
