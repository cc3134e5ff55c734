-- CreateSchema
CREATE SCHEMA IF NOT EXISTS "escrow";

-- CreateTable
CREATE TABLE "escrow"."accounts" (
    "account_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "limit" BIGINT NOT NULL,
    "spent" BIGINT NOT NULL,
    "earned" BIGINT NOT NULL,
    "pending" BIGINT NOT NULL,
    "entry_count" BIGINT NOT NULL,
    "last_hash" TEXT,
    "frozen_at" TIMESTAMPTZ(3),
    "frozen_for" TEXT,
    "version" BIGINT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "created_by" TEXT NOT NULL,

    CONSTRAINT "accounts_pkey" PRIMARY KEY ("account_id")
);

-- CreateTable
CREATE TABLE "escrow"."sinks" (
    "account_id" TEXT NOT NULL,
    "shard" INTEGER NOT NULL,
    "earned" BIGINT NOT NULL,

    CONSTRAINT "sinks_pkey" PRIMARY KEY ("account_id","shard")
);

-- CreateTable
CREATE TABLE "escrow"."members" (
    "workspace_id" TEXT NOT NULL,
    "agent_id" TEXT NOT NULL,
    "limit" BIGINT,
    "spent" BIGINT NOT NULL,
    "pending" BIGINT NOT NULL,
    "draws_since" TIMESTAMPTZ(3),
    "draws" INTEGER NOT NULL,
    "version" BIGINT NOT NULL,

    CONSTRAINT "members_pkey" PRIMARY KEY ("workspace_id","agent_id")
);

-- CreateTable
CREATE TABLE "escrow"."holds" (
    "seq" BIGSERIAL NOT NULL,
    "hold_id" TEXT NOT NULL,
    "claim" TEXT,
    "account" TEXT,
    "member" TEXT,
    "amount" BIGINT NOT NULL,
    "condition" JSONB,
    "state" TEXT NOT NULL,
    "owner_kind" TEXT NOT NULL,
    "owner" TEXT NOT NULL,
    "body_hash" TEXT,
    "held_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "closed_at" TIMESTAMPTZ(3),
    "closed_by" TEXT,
    "captured" BIGINT,
    "payee" TEXT,
    "entry_id" TEXT,

    CONSTRAINT "holds_pkey" PRIMARY KEY ("seq")
);

-- CreateTable
CREATE TABLE "escrow"."entries" (
    "entry_id" TEXT NOT NULL,
    "account" TEXT NOT NULL,
    "no" BIGINT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "kind" TEXT NOT NULL,
    "ref" TEXT,
    "by" TEXT NOT NULL,
    "memo" TEXT,
    "member" TEXT,
    "payee" TEXT,
    "amount" BIGINT NOT NULL,
    "refund_of" TEXT,
    "body_hash" TEXT,
    "answer" JSON,
    "prev_hash" TEXT,
    "hash" TEXT NOT NULL,

    CONSTRAINT "entries_pkey" PRIMARY KEY ("entry_id")
);

-- CreateTable
CREATE TABLE "escrow"."outbox" (
    "id" TEXT NOT NULL,
    "position" BIGINT,
    "name" TEXT NOT NULL,
    "payload" JSONB NOT NULL,
    "workspace" TEXT,
    "node" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "written" BIGSERIAL NOT NULL,

    CONSTRAINT "outbox_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "escrow"."outbox_head" (
    "one" BOOLEAN NOT NULL DEFAULT true,
    "head" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "outbox_head_pkey" PRIMARY KEY ("one")
);

-- CreateTable
CREATE TABLE "escrow"."idempotency" (
    "principal" TEXT NOT NULL,
    "tool" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "args_hash" TEXT NOT NULL,
    "outcome" JSON,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "idempotency_pkey" PRIMARY KEY ("principal","tool","key")
);

-- CreateTable
CREATE TABLE "escrow"."audit_outbox" (
    "id" TEXT NOT NULL,
    "event" TEXT NOT NULL,
    "workspace" TEXT,
    "subject" JSON NOT NULL,
    "data" JSON NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "written" BIGSERIAL NOT NULL,

    CONSTRAINT "audit_outbox_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "accounts_kind_account_id_idx" ON "escrow"."accounts"("kind", "account_id");

-- CreateIndex
CREATE UNIQUE INDEX "holds_claim_key" ON "escrow"."holds"("claim");

-- CreateIndex
CREATE UNIQUE INDEX "entries_account_no_key" ON "escrow"."entries"("account", "no");

-- CreateIndex
CREATE UNIQUE INDEX "outbox_position_key" ON "escrow"."outbox"("position");

-- CreateIndex
CREATE INDEX "outbox_position_written_idx" ON "escrow"."outbox"("position", "written");

-- CreateIndex
CREATE INDEX "idempotency_at_idx" ON "escrow"."idempotency"("at");

-- CreateIndex
CREATE INDEX "audit_outbox_written_idx" ON "escrow"."audit_outbox"("written");

-- There is exactly one head, and it is there from the start.
ALTER TABLE "escrow"."outbox_head" ADD CONSTRAINT "outbox_head_one" CHECK ("one");
INSERT INTO "escrow"."outbox_head" DEFAULT VALUES;

-- The rules decide, and these only keep a mistake in them from being written.
ALTER TABLE "escrow"."accounts" ADD CONSTRAINT "accounts_amounts"
  CHECK ("limit" >= 0 AND "spent" >= 0 AND "earned" >= 0 AND "pending" >= 0
    AND "limit" + "earned" - "spent" - "pending" >= 0);
ALTER TABLE "escrow"."members" ADD CONSTRAINT "members_amounts"
  CHECK ("limit" >= 0 AND "spent" >= 0 AND "pending" >= 0);
ALTER TABLE "escrow"."holds" ADD CONSTRAINT "holds_states"
  CHECK ("state" IN ('held', 'posted', 'released', 'expired') AND "amount" >= 0 AND "captured" BETWEEN 0 AND "amount");

-- What was entered stays as it was entered.
-- (\x3b is the semicolon inside the body: tools that split this file into statements must not split there.)
CREATE FUNCTION "escrow"."refuse_change"() RETURNS trigger LANGUAGE plpgsql AS
  E'BEGIN RAISE EXCEPTION \'entries of the ledger are never changed\'\x3b END';
CREATE TRIGGER "entries_stay" BEFORE UPDATE OR DELETE ON "escrow"."entries"
  FOR EACH ROW EXECUTE FUNCTION "escrow"."refuse_change"();

-- Few of all holds are live, and few entries have a reference.
CREATE INDEX "holds_live_account" ON "escrow"."holds" ("account", "expires_at") WHERE "state" = 'held';
CREATE INDEX "holds_live_owner" ON "escrow"."holds" ("owner", "expires_at") WHERE "state" = 'held';
CREATE INDEX "holds_live" ON "escrow"."holds" ("expires_at") WHERE "state" = 'held';
CREATE UNIQUE INDEX "entries_ref" ON "escrow"."entries" ("kind", "ref") WHERE "ref" IS NOT NULL;
CREATE INDEX "entries_refunds" ON "escrow"."entries" ("refund_of") WHERE "refund_of" IS NOT NULL;

-- Double entry: what one pays the other gets, and a refund turns it round. Limits and repairs move nothing.
CREATE VIEW "escrow"."postings" AS
  SELECT "entry_id", 0 AS "line", "account", CASE "kind" WHEN 'refund' THEN "amount" ELSE -"amount" END AS "amount"
    FROM "escrow"."entries" WHERE "kind" IN ('spend', 'capture', 'refund')
  UNION ALL
  SELECT "entry_id", 1, "payee", CASE "kind" WHEN 'refund' THEN -"amount" ELSE "amount" END
    FROM "escrow"."entries" WHERE "kind" IN ('spend', 'capture', 'refund');
ALTER TABLE "escrow"."entries" ADD CONSTRAINT "entries_payee"
  CHECK (("kind" IN ('spend', 'capture', 'refund')) = ("payee" IS NOT NULL) AND "amount" >= 0);

-- Balances change in place: room for the new version of a row beside the old one.
ALTER TABLE "escrow"."accounts" SET (fillfactor = 50);
ALTER TABLE "escrow"."members" SET (fillfactor = 50);
ALTER TABLE "escrow"."sinks" SET (fillfactor = 50);
