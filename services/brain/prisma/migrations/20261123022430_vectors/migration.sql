-- CreateTable
CREATE TABLE "brain"."brain_vectors" (
    "brain_id" TEXT NOT NULL,
    "space" TEXT NOT NULL,
    "passage" TEXT NOT NULL,
    "vector" BYTEA NOT NULL,

    CONSTRAINT "brain_vectors_pkey" PRIMARY KEY ("brain_id","space","passage")
);
