-- CreateTable
CREATE TABLE "escrow"."checkpoints" (
    "generation" BIGINT NOT NULL,
    "account" TEXT NOT NULL,
    "no" BIGINT NOT NULL,
    "hash" TEXT,
    "spent" BIGINT NOT NULL,
    "earned" BIGINT NOT NULL,

    CONSTRAINT "checkpoints_pkey" PRIMARY KEY ("generation","account")
);

-- CreateTable
CREATE TABLE "escrow"."verification" (
    "one" BOOLEAN NOT NULL DEFAULT true,
    "complete" BIGINT NOT NULL DEFAULT 0,
    "reading" BIGINT,
    "after_account" TEXT NOT NULL DEFAULT '',
    "after_no" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "verification_pkey" PRIMARY KEY ("one")
);
