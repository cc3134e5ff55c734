-- CreateTable
CREATE TABLE "agora"."stray_ballots" (
    "topic" TEXT NOT NULL,
    "voter" TEXT NOT NULL,
    "ballot" TEXT NOT NULL,
    "sig" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "stray_ballots_pkey" PRIMARY KEY ("topic","voter")
);
