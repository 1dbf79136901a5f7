//! BMI2 and ADX: products that leave the flags alone and two carry chains that leave each other alone.
//! Source: Intel SDM volume 2; "New Instructions Supporting Large Integer Arithmetic" (Intel, 2012).

rows! {
    /// BMI2 and ADX instructions.
    #[rustfmt::skip]
    Bmi2Adx, Bmi2Adx {
        // variant  method    text    operands                                              reads writes undefined feature class
        // hi:lo := src * rdx. When hi and lo are one register, it holds the high half.
        Mulx       mulx      "mulx"  (hi: W r64, lo: W r64, src: R rm64, multiplier: R r64 @RDX) NONE NONE NONE bmi2 Mulx;
        // dst := src rotated right, or shifted by count mod 64.
        Rorx       rorx      "rorx"  (dst: W r64, src: R rm64, count: R i8)                 NONE NONE NONE bmi2 Shift;
        Shlx       shlx      "shlx"  (dst: W r64, src: R rm64, count: R r64)                NONE NONE NONE bmi2 Shift;
        Shrx       shrx      "shrx"  (dst: W r64, src: R rm64, count: R r64)                NONE NONE NONE bmi2 Shift;
        // dst := dst + src + CF, carry out in CF alone; the same with OF alone.
        Adcx       adcx      "adcx"  (dst: RW r64, src: R rm64)                             CF CF NONE adx Carry;
        Adox       adox      "adox"  (dst: RW r64, src: R rm64)                             OF OF NONE adx Carry;
    }
}
