-- What the caller of a keyed call was told, beside its outcome.
ALTER TABLE "{schema}"."idempotency" ADD COLUMN IF NOT EXISTS "reply" TEXT;
ALTER TABLE "{schema}"."idempotency" ADD COLUMN IF NOT EXISTS "refusal" TEXT;
